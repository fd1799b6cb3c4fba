"""`python -m odrpo`."""

from odrpo.cli import main

if __name__ == "__main__":
    main()
