// Package diff shows how a value differs from the one that a test wants.
package diff

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Of returns "" for values that are deeply equal, as reflect.DeepEqual has it. Else it returns them line by line, those
// of want alone behind a minus and those of got alone behind a plus.
func Of(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	a, b := lines(want), lines(got)
	if slices.Equal(a, b) { // they differ in what is not printed, such as nil and empty
		return fmt.Sprintf("-%#v\n+%#v\n", want, got)
	}
	var out strings.Builder
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) > 0 && len(b) > 0 && a[0] == b[0]:
			fmt.Fprintln(&out, " ", a[0])
			a, b = a[1:], b[1:]
		case len(b) == 0 || len(a) > 0 && !slices.Contains(b, a[0]):
			fmt.Fprintln(&out, "-", a[0])
			a = a[1:]
		default:
			fmt.Fprintln(&out, "+", b[0])
			b = b[1:]
		}
	}
	return out.String()
}

func lines(v any) []string {
	var out strings.Builder
	show(&out, reflect.ValueOf(v), "")
	return strings.Split(out.String(), "\n")
}

// show prints a value over several lines, through its pointers and interfaces. The values of tests have no cycles.
func show(out *strings.Builder, v reflect.Value, indent string) {
	inner := indent + "  "
	switch v.Kind() {
	case reflect.Invalid:
		out.WriteString("nil")
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			out.WriteString("nil")
			return
		}
		if v.Kind() == reflect.Pointer {
			out.WriteString("&")
		}
		show(out, v.Elem(), indent)
	case reflect.Struct:
		if v.CanInterface() {
			if text, ok := v.Interface().(fmt.Stringer); ok {
				out.WriteString(text.String())
				return
			}
		}
		out.WriteString(v.Type().String() + "{\n")
		for i := range v.NumField() {
			if field := v.Field(i); !field.IsZero() {
				out.WriteString(inner + v.Type().Field(i).Name + ": ")
				show(out, field, inner)
				out.WriteString("\n")
			}
		}
		out.WriteString(indent + "}")
	case reflect.Map:
		out.WriteString(v.Type().String() + "{\n")
		var entries []string
		for _, key := range v.MapKeys() {
			var entry strings.Builder
			fmt.Fprintf(&entry, "%s%v: ", inner, key)
			show(&entry, v.MapIndex(key), inner)
			entries = append(entries, entry.String())
		}
		slices.Sort(entries)
		out.WriteString(strings.Join(append(entries, indent+"}"), "\n"))
	case reflect.Slice, reflect.Array:
		out.WriteString(v.Type().String() + "{\n")
		for i := range v.Len() {
			out.WriteString(inner)
			show(out, v.Index(i), inner)
			out.WriteString("\n")
		}
		out.WriteString(indent + "}")
	case reflect.String:
		fmt.Fprintf(out, "%q", v)
	default:
		fmt.Fprintf(out, "%v", v)
	}
}
