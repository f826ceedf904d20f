package stress

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	yaml "go.yaml.in/yaml/v3"
)

// OneDocument refuses YAML that goes on after its first document, of which alone
// settings are read. A document without content is none.
func OneDocument(b []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(b))
	err := d.Decode(new(yaml.Node))
	for err == nil {
		var next yaml.Node
		if err = d.Decode(&next); err == nil && !empty(&next) {
			return fmt.Errorf("line %d begins another YAML document, and settings stand in the first alone: take out the line ---, or give it a file of its own", next.Line)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func empty(doc *yaml.Node) bool { return len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" }
