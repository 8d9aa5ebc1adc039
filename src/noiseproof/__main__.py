"""`python -m noiseproof`: the command line."""

from noiseproof.cli import main

if __name__ == "__main__":
    main()
