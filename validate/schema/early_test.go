package schema

import (
	"strings"
	"testing"
)

// TestFirstCertainByte holds each keyword to its earliest sound moment. In a
// text, ^ stands before the byte at which the violation is certain.
func TestFirstCertainByte(t *testing.T) {
	f := func(params, marked string) {
		t.Helper()
		want := strings.IndexByte(marked, '^')
		text := strings.Replace(marked, "^", "", 1)
		s := Compile([]byte(params))
		c := s.Checker(NewBudget())
		got := -1
		for i := range len(text) {
			c.Feed([]byte(text[i : i+1]))
			if got < 0 && len(c.Found()) > 0 {
				got = i
			}
		}
		found, st := c.Finish([]byte(text))
		if st != Ready || len(found) == 0 || int(found[0].At) != want {
			t.Errorf("%s on %s: got %+v %v, want it at %d", params, text, found, st, want)
			return
		}
		if got >= 0 && got != want {
			t.Errorf("%s on %s: told with byte %d, want %d", params, text, got, want)
		}
	}
	in := func(sub string) string { return `{"properties":{"a":` + sub + `}}` }

	// At the first byte of a value.
	f(in(`{"type":"string"}`), `{"a":^1}`)
	f(in(`{"type":["object","null"]}`), `{"a":^[]}`)
	f(in(`{"enum":[1,"x"]}`), `{"a":^true}`)
	f(in(`{"enum":[true]}`), `{"a":^false}`)
	f(in(`{"allOf":[{"type":"string"},{"type":"number"}]}`), `{"a":^1}`)
	f(`false`, `^{}`)

	// Within a string, on decoded bytes.
	f(in(`{"enum":["red","green"]}`), `{"a":"re^x`)
	f(in(`{"enum":["red","green"]}`), `{"a":"r\u006^6"}`)
	f(in(`{"const":"red"}`), `{"a":"re^"}`)
	f(in(`{"const":"red"}`), `{"a":"red^d"}`)
	f(in(`{"maxLength":2}`), `{"a":"é日^x`)
	f(in(`{"maxLength":2}`), `{"a":"éx\u00e^9"}`)

	// At the closing quote.
	f(in(`{"minLength":2}`), `{"a":"x^"}`)
	f(in(`{"pattern":"^x$"}`), `{"a":"xy^"}`)

	// Behind a number.
	f(in(`{"type":"integer"}`), `{"a":1.5^}`)
	f(in(`{"maximum":10}`), `{"a":100^,"b":1}`)
	f(in(`{"exclusiveMinimum":1}`), `{"a":1.0^ }`)
	f(in(`{"multipleOf":3}`), `{"a":4^}`)
	f(in(`{"enum":[1,2]}`), `{"a":3^}`)

	// Within a name, and at its end.
	f(`{"properties":{"path":{},"part":{}},"additionalProperties":false}`, `{"pa^x":1}`)
	f(`{"properties":{"path":{}},"additionalProperties":false}`, `{"pat^":1}`)
	f(`{"properties":{"path":{}},"additionalProperties":false}`, `{"path^n":1}`)
	f(`{"additionalProperties":false}`, `{^"a":1}`)
	f(`{"patternProperties":{"^x":{}},"additionalProperties":false}`, `{"ab^":1}`)
	f(`{"properties":{"a":false}}`, `{"a^":1}`)
	f(`{"propertyNames":{"maxLength":2}}`, `{"ab^c":1}`)
	f(`{"propertyNames":{"pattern":"^x"}}`, `{"ab^":1}`)
	f(`{"maxProperties":1}`, `{"a":1,"b^":2}`)

	// At the comma behind the last element that there may be.
	f(in(`{"maxItems":2}`), `{"a":[1,2^,3]}`)
	f(in(`{"prefixItems":[{}],"items":false}`), `{"a":[1^,2]}`)
	f(in(`{"maxItems":0}`), `{"a":[^1]}`)

	// At the end of an element.
	f(in(`{"uniqueItems":true}`), `{"a":[{"x":1,"y":2},{"y":2,"x":1.0^}]}`)
	f(in(`{"contains":{"const":1},"maxContains":1}`), `{"a":[1,1^,2]}`)

	// At the end of the value.
	f(in(`{"required":["b"]}`), `{"a":{"c":1^}}`)
	f(in(`{"minProperties":2}`), `{"a":{"c":1^}}`)
	f(in(`{"minItems":1}`), `{"a":[^]}`)
	f(in(`{"contains":{"const":1}}`), `{"a":[2^]}`)
	f(in(`{"const":[1,{"b":2}]}`), `{"a":[1,{"b":3}^]}`)
	f(in(`{"dependentRequired":{"b":["c"]}}`), `{"a":{"b":1^}}`)
	f(in(`{"not":{"required":["b"]}}`), `{"a":{"b":1^}}`)
	f(in(`{"if":{"required":["b"]},"then":{"required":["c"]}}`), `{"a":{"b":1^}}`)
	f(in(`{"oneOf":[{"required":["b"]},{"minProperties":1}]}`), `{"a":{"b":1^}}`)

	// When the last alternative dies.
	f(in(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`), `{"a":^{}}`)
	f(in(`{"anyOf":[{"enum":["red","reed"]},{"const":"ready"}]}`), `{"a":"rea^m"}`)
	f(in(`{"anyOf":[{"properties":{"k":{"const":"x"}}},{"properties":{"k":{"const":"y"}}}]}`), `{"a":{"k":"^z"}}`)
	f(in(`{"oneOf":[{"type":"string"},{"type":"object","required":["b"]}]}`), `{"a":{^}}`)
	f(in(`{"if":{"type":"string"},"else":{"type":"integer"}}`), `{"a":^[]}`)
	f(`{"dependentSchemas":{"b":{"properties":{"a":{"type":"string"}}}}}`, `{"a":1,"b^":2}`)
	f(`{"dependentSchemas":{"b":{"properties":{"a":{"type":"string"}}}}}`, `{"b":1,"a":^2}`)
	f(`{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}}}`, `{"next":{"next":{"v":^"x"}}}`)
}
