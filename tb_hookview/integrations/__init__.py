"""Callbacks for training libraries, each in the module that is named after its library."""
