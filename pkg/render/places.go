package render

import (
	"path/filepath"

	"github.com/birdconfd/birdconfd/pkg/calico"
)

// Place is where a target of a conf.d directory is.
type Place struct {
	Name      string
	Directory string // of the files; absolute
	Socket    string // the control socket, absolute; "" for none
}

// Places reads only where the targets of a conf.d directory are, for whoever asks their
// daemons. It looks at no template, so that it works as well where LoadConfig finds errors
// in those. There is none when one of the problems is an error.
func Places(dir string) ([]Place, []calico.Problem) {
	l := configLoader{accounts: system}
	for _, name := range l.names(dir) {
		path := filepath.Join(dir, name)
		if form, ok := l.form(path); ok {
			for _, t := range form.Targets {
				r := targetReader{configLoader: &l, file: path, form: t}
				l.targets = append(l.targets, r.read(nil))
			}
		}
	}
	c, problems := l.config()
	if c == nil {
		return nil, problems
	}
	return c.places(), problems
}

func (c *Config) places() []Place {
	var places []Place
	for _, t := range c.Targets {
		places = append(places, Place{t.Name, t.Directory, t.Socket})
	}
	return places
}
