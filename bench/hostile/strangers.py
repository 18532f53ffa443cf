def strangers(options, table): pass
