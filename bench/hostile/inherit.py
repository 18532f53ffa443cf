def inherit(options, table): pass
