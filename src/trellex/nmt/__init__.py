"""The networks, and the model that joins one of them to an output layer."""
