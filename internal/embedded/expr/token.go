package expr

import "strings"

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenName   // #name
	tokenValue  // :value
	tokenDigits // a list index
	tokenPunct  // one of ( ) , . [ ] + - = <> < <= > >=
	tokenBad    // a character that starts nothing
)

type token struct {
	kind       tokenKind
	text       string
	start, end int
}

// is reports whether the token is the given punctuation.
func (t token) is(punct string) bool { return t.kind == tokenPunct && t.text == punct }

// isKeyword reports whether the token is the keyword, in any case of letters.
func (t token) isKeyword(word string) bool {
	return t.kind == tokenWord && strings.EqualFold(t.text, word)
}

// tokenise never fails: a character that starts no token becomes a bad one, so
// that the parser reports it at the place where it stumbles. The last token is
// always tokenEnd.
func tokenise(src string) []token {
	var tokens []token
	for i := 0; i < len(src); {
		c := src[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			i++
			continue
		}
		kind, n := tokenBad, 1
		switch {
		case isLetter(c):
			kind, n = tokenWord, wordLength(src[i:])
		case (c == '#' || c == ':') && wordLength(src[i+1:]) > 0:
			kind, n = tokenName, 1+wordLength(src[i+1:])
			if c == ':' {
				kind = tokenValue
			}
		case isDigit(c):
			kind = tokenDigits
			for i+n < len(src) && isDigit(src[i+n]) {
				n++
			}
		case strings.HasPrefix(src[i:], "<>"), strings.HasPrefix(src[i:], "<="), strings.HasPrefix(src[i:], ">="):
			kind, n = tokenPunct, 2
		case strings.IndexByte("(),.[]+-=<>", c) >= 0:
			kind = tokenPunct
		case c >= 0x80: // keep a multi-byte character whole in the message
			for i+n < len(src) && src[i+n]&0xC0 == 0x80 {
				n++
			}
		}
		tokens = append(tokens, token{kind, src[i : i+n], i, i + n})
		i += n
	}
	return append(tokens, token{kind: tokenEnd, text: "<EOF>", start: len(src), end: len(src)})
}

func wordLength(s string) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || s[n] == '_') {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
