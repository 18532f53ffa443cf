def files(options, table): pass
