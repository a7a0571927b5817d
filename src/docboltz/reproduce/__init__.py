"""The paper's tables and figures, made anew.

`trials` says what is run, `models` how, `data` on which documents; `running` runs and writes one
file a trial, `report` turns the files there are into tables, claims and figures.
"""
