package calico

import "encoding/base64"

// secretReader is a Secret while it is read. The values in stringData win.
type secretReader struct {
	data, stringData map[string][]byte
}

var secretRoot = fields[secretReader]{
	"data": func(s *secretReader, v value) {
		s.data = v.secretValues(func(text string) ([]byte, *fault) {
			b, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return nil, &fault{RuleSecretValue, "is not base64", "put clear text into stringData"}
			}
			return b, nil
		})
	},
	"stringData": func(s *secretReader, v value) {
		s.stringData = v.secretValues(func(text string) ([]byte, *fault) { return []byte(text), nil })
	},
}

// readSecret keeps neither labels nor annotations: kubectl puts a copy of the values in
// an annotation.
func readSecret(o *object, m mapping) Object {
	var r secretReader
	secretRoot.readKnown(&r, m)
	s := &Secret{Data: r.data}
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for key, value := range r.stringData {
		s.Data[key] = value
	}
	s.Meta = o.meta
	s.Labels, s.Annotations = nil, nil
	return s
}

func (v value) secretValues(decode func(string) ([]byte, *fault)) map[string][]byte {
	m := v.mapping()
	out := make(map[string][]byte, len(m.pairs))
	for _, p := range m.pairs {
		e := m.of(p).with(fate{text: "the key is left out"})
		e.path = join(m.path, plain(p.name))
		if e.null() {
			out[p.name] = nil
			continue
		}
		text, ok := e.text()
		if !ok {
			continue
		}
		b, f := decode(text)
		if f != nil {
			e.refuse("", f)
			continue
		}
		out[p.name] = b
	}
	return out
}
