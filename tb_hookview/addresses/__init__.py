"""Files and folders by address (`s3://bucket/run`): over fsspec, with errors of one line."""
