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
		if strings.IndexByte(" \t\n\r", src[i]) >= 0 {
			i++
			continue
		}
		kind, n := firstToken(src[i:])
		tokens = append(tokens, token{kind, src[i : i+n], i, i + n})
		i += n
	}
	return append(tokens, token{kind: tokenEnd, text: "<EOF>", start: len(src), end: len(src)})
}

// firstToken returns the kind and the length of the token that begins s.
func firstToken(s string) (tokenKind, int) {
	switch c := s[0]; {
	case isLetter(c):
		return tokenWord, wordLength(s)
	case c == '#' && wordLength(s[1:]) > 0:
		return tokenName, 1 + wordLength(s[1:])
	case c == ':' && wordLength(s[1:]) > 0:
		return tokenValue, 1 + wordLength(s[1:])
	case isDigit(c):
		return tokenDigits, length(s, isDigit)
	case strings.HasPrefix(s, "<>"), strings.HasPrefix(s, "<="), strings.HasPrefix(s, ">="):
		return tokenPunct, 2
	case strings.IndexByte("(),.[]+-=<>", c) >= 0:
		return tokenPunct, 1
	}
	// A multi-byte character stays whole in the message.
	return tokenBad, 1 + length(s[1:], func(c byte) bool { return s[0] >= 0x80 && c&0xC0 == 0x80 })
}

func wordLength(s string) int {
	return length(s, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' })
}

// length returns how many bytes from the first on are of the class.
func length(s string, class func(byte) bool) int {
	n := 0
	for n < len(s) && class(s[n]) {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
