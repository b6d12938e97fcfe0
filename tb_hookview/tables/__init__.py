"""Every table by name: key, types, and pandas, polars, Arrow, Parquet, CSV and JSON as its outlets.

A table of the report is its rows; one at event level is arrays over the analysis, and makes no
object per row for a frame or an Arrow table. Neither needs the other's imports: a cached report is
shown without numpy.

Must not be here: anything that knows how rows of the report are made.
"""
