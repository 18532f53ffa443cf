def disk(options, table): pass
