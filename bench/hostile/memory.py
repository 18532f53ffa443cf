def memory(options, table): pass
