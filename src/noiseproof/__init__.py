"""Models that keep working when features go missing, get noisy or are attacked."""

import lazy_loader

# lazy imports, so that `noiseproof --help` need not wait for scikit-learn
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
