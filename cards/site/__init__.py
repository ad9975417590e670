"""A bank as a website of plain files: in, a bank on disk or on the Hub; out, HTML, CSS, modules of JavaScript, columns.

`source` finds the files, `columns` packs columns, `corpus_data`, `results_data` and `report_pages` write what the page
reads, `app/` is the page, `site` puts all together, `serving` shows it on this machine. May use bank and card.
"""
