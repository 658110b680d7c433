package display

import "encoding/base64"

// Data returns a holder's data as text, and how it is written: in base64 if it is not one line of text.
func Data(data []byte) (text, as string) {
	if text = string(data); Printable(text) {
		return text, ""
	}
	return base64.StdEncoding.EncodeToString(data), " (base64)"
}
