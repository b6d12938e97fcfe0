"""Many ranks of one run: their traces to summaries, the summaries to one answer."""
