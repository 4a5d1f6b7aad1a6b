package live

// Lacks tells whether a list has not got all of what is in use.
func (p *Part) Lacks(items []Item) bool {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	listed := make(map[string]bool, len(items))
	for _, item := range items {
		listed[item.Key] = true
	}
	for key, e := range p.entries {
		if e.object != nil && !listed[key] {
			return true
		}
	}
	return false
}
