package schema

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxViolations bounds how many violations of one value are told.
const maxViolations = 16

// violations flattens an error of the library, whose order is not always the same.
func violations(e *jsonschema.ValidationError, v any) []Violation {
	var out []Violation
	for _, leaf := range leaves(e, nil) {
		out = append(out, classify(leaf, v)...)
	}
	slices.SortFunc(out, func(a, b Violation) int {
		return cmp.Or(slices.Compare(a.Path, b.Path), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Key, b.Key))
	})
	return out[:min(len(out), maxViolations)]
}

// leaves collects the errors that are not made of others. Of alternatives it
// keeps the one they agree on, or the alternative as a whole.
func leaves(e *jsonschema.ValidationError, out []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return append(out, agreed(e)...)
	case *kind.PropertyNames:
		return append(out, e)
	}
	if len(e.Causes) == 0 {
		return append(out, e)
	}
	for _, c := range e.Causes {
		out = leaves(c, out)
	}
	return out
}

// agreed looks for the alternative that was meant: those that refuse the type
// of the value itself were not. If the rest is one alternative, its errors
// count; if all errors are of one class, the first does; else the whole.
func agreed(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	whole := []*jsonschema.ValidationError{e}
	if len(e.Causes) == 0 {
		return whole
	}
	var meant [][]*jsonschema.ValidationError
	var all []*jsonschema.ValidationError
	for _, c := range e.Causes {
		l := leaves(c, nil)
		all = append(all, l...)
		if !slices.ContainsFunc(l, func(x *jsonschema.ValidationError) bool { return wrongTypeAt(x, e.InstanceLocation) }) {
			meant = append(meant, l)
		}
	}
	if len(meant) == 1 {
		return meant[0]
	}
	if len(meant) > 0 {
		all = slices.Concat(meant...)
	}
	for _, x := range all {
		if class(x.ErrorKind) != class(all[0].ErrorKind) || class(x.ErrorKind) == Other {
			return whole
		}
	}
	first := slices.MinFunc(all, func(a, b *jsonschema.ValidationError) int {
		return slices.Compare(a.InstanceLocation, b.InstanceLocation)
	})
	return []*jsonschema.ValidationError{first}
}

func wrongTypeAt(e *jsonschema.ValidationError, at []string) bool {
	_, ok := e.ErrorKind.(*kind.Type)
	return ok && slices.Equal(e.InstanceLocation, at)
}

func class(k jsonschema.ErrorKind) Class {
	switch k.(type) {
	case *kind.Required, *kind.DependentRequired, *kind.Dependency:
		return Required
	case *kind.Type:
		return Type
	case *kind.AdditionalProperties, *kind.FalseSchema, *kind.AdditionalItems:
		return Additional
	case *kind.Enum, *kind.Const, *kind.Pattern, *kind.Minimum, *kind.Maximum, *kind.ExclusiveMinimum, *kind.ExclusiveMaximum,
		*kind.MultipleOf, *kind.MinLength, *kind.MaxLength, *kind.MinItems, *kind.MaxItems, *kind.UniqueItems, *kind.Contains,
		*kind.MinContains, *kind.MaxContains, *kind.MinProperties, *kind.MaxProperties, *kind.PropertyNames:
		return Value
	}
	return Other
}

// classify turns one error into violations: one for each property it names.
func classify(e *jsonschema.ValidationError, root any) []Violation {
	v := Violation{Class: class(e.ErrorKind), At: -1, Path: e.InstanceLocation}
	var names []string
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		names = k.Missing
	case *kind.DependentRequired:
		names = k.Missing
	case *kind.AdditionalProperties:
		names = slices.Sorted(slices.Values(k.Properties))
	case *kind.Type:
		text, isText := at(root, v.Path).(string)
		v.Minor = isText && readsLike([]byte(text), masks(k.Want))
	}
	if names == nil {
		return []Violation{v}
	}
	out := make([]Violation, len(names))
	for i, n := range names {
		out[i] = v
		out[i].Key = n
	}
	return out
}

func masks(types []string) (m mask) {
	for _, t := range types {
		m |= typeMask(t)
	}
	return m
}

// at is the value that path leads to.
func at(v any, path []string) any {
	for _, step := range path {
		switch c := v.(type) {
		case map[string]any:
			v = c[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(c) {
				return nil
			}
			v = c[n]
		}
	}
	return v
}
