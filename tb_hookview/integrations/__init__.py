"""Callbacks for training libraries; import the module that is named as the library is."""
