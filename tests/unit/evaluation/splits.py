"""Splits that are in memory alone."""

SIZE = 40  # target words


class Pairs:
    """Sentences with their references."""

    def __init__(self, sources, targets):
        self.sources, self.targets = sources, targets

    def __len__(self):
        return len(self.sources)

    def source(self, row):
        return self.sources[row]

    def target(self, row):
        return self.targets[row]
