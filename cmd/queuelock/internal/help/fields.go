package help

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// Fields describes the JSON that is printed of a value, with a line for each field: its name, and its meaning from the
// tag "help". A pointer may be null. The lines are one paragraph of a command's text, which help with --all and the
// manual page show; their four blanks keep a manual page from joining them.
func Fields(title string, value any) string {
	lines := []string{"    " + title}
	all := fieldsOf(reflect.TypeOf(value), "      ")
	width := 0
	for _, e := range all {
		width = max(width, utf8.RuneCountInString(e.name))
	}
	for _, e := range all {
		lines = append(lines, fold(fmt.Sprintf("%-*s  %s", width, e.name, e.meaning), strings.Repeat(" ", width+2))...)
	}
	return strings.Join(lines, "\n")
}

// fieldsOf returns the fields of a type as JSON has them, each followed by those in it.
func fieldsOf(of reflect.Type, indent string) (all []entry) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() {
		return nil
	}
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch meaning := f.Tag.Get("help"); {
		case name == "" && f.Anonymous:
			all = append(all, fieldsOf(f.Type, indent)...)
		case name != "":
			if f.Type.Kind() == reflect.Pointer {
				meaning += "; or null"
			}
			all = append(append(all, entry{name: indent + name, short: name, meaning: meaning}), fieldsOf(f.Type, indent+"  ")...)
		}
	}
	return all
}
