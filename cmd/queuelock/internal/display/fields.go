package display

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"
)

// Fields describes the JSON that is printed of a value, with a line for each field: its name, and its meaning from the
// tag "help". A pointer may be null. The lines are one paragraph of a command's text; their four blanks keep a manual
// page from joining them.
func Fields(title string, value any) string {
	var text strings.Builder
	fmt.Fprintln(&text, "    "+title)
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	write(w, reflect.TypeOf(value), "      ")
	_ = w.Flush() // to memory
	return strings.TrimSuffix(text.String(), "\n")
}

// write writes the fields of a type as JSON has them, each followed by those in it.
func write(w io.Writer, of reflect.Type, indent string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() {
		return
	}
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && !f.Anonymous {
			continue
		}
		inner := indent
		if name != "" {
			inner += "  "
			orNull := ""
			if f.Type.Kind() == reflect.Pointer {
				orNull = "; or null"
			}
			fmt.Fprintf(w, "%s%s\t%s%s\n", indent, name, f.Tag.Get("help"), orNull)
		}
		write(w, f.Type, inner)
	}
}
