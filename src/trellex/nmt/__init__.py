"""The paper's network: encoder, attention, decoder, and the model that joins them to an output layer."""

from trellex.nmt.model import ModelSettings, TranslationModel

__all__ = ["ModelSettings", "TranslationModel"]
