package display

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"
)

// Data returns a holder's data as text, and how it is written: quoted if it is not one line, and in base64 if it is no text.
func Data(data []byte) (text, as string) {
	switch text = string(data); {
	case Printable(text):
		return text, ""
	case utf8.Valid(data):
		return strconv.Quote(text), ""
	}
	return base64.StdEncoding.EncodeToString(data), " (base64)"
}

// Text returns a holder's data for machines, nil if it is no text.
func Text(data []byte) *string {
	if !utf8.Valid(data) {
		return nil
	}
	return orNull(string(data))
}
