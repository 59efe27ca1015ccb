"""The paper's network: a bidirectional LSTM reads, an LSTM with attention writes."""
