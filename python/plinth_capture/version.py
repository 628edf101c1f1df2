"""The version of this package, which is Plinth's."""

VERSION = "0.1.0"
