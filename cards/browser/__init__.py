"""The results browser: a bank as a page in a web browser, read lazily and never written to.

`source` finds the files, `data` reads them column by column, `filters` chooses rows, `view` is what a link holds,
the panels are pages of HTML made of both, `app` is the gradio shell around them. Only `app` imports gradio.
"""
