package validate

import "bytes"

// constrains reports whether the request makes the server enforce a grammar on
// calls.
func (r *Request) constrains() bool {
	return r.strict && !r.none || r.must || r.named
}

// ignored are the keywords that servers' grammars leave out. What else stands
// in a schema beside them cannot be told apart from them.
var ignored = [...]string{`"not"`, `"if"`, `"then"`, `"else"`, `"dependent`, `"uniqueItems"`, `"contains"`, `"minContains"`, `"maxContains"`,
	`"multipleOf"`, `"unevaluated`, `"patternProperties"`, `"propertyNames"`, `"minProperties"`, `"maxProperties"`, `"oneOf"`}

// enforces reports whether the server enforces the whole schema of a tool.
func (r *Request) enforces(name string) bool {
	t, ok := r.tools[name]
	if !ok || t.large || r.none || !(t.strict || r.must || r.named) {
		return false
	}
	for _, k := range ignored {
		if bytes.Contains(t.parameters, []byte(k)) {
			return false
		}
	}
	return true
}

// constrain marks the findings that a grammar rules out.
func (c *Checker) constrain() {
	if !c.req.constrains() {
		return
	}
	for i := range c.findings {
		f := &c.findings[i]
		switch f.Kind {
		case ArgsMissingPrefix, ArgsDuplicated, ArgsTrailingData, ArgsTruncated, ArgsJSONInvalid, ArgsNotObject, ArgsEmpty,
			SchemaRequired, SchemaType, SchemaValue, SchemaAdditional, ArgsSchemaViolated:
			f.Constrained = c.req.enforces(f.Tool)
		case UnknownTool, ToolNameMalformed, FinishWithoutCall, CallInText, EmptyTurn:
			f.Constrained = c.req.must || c.req.named
		}
	}
}
