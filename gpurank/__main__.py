"""``python -m gpurank`` is the command line."""

from gpurank.cli.main import main

if __name__ == "__main__":
    main()
