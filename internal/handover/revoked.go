package handover

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/wake"
)

// A hint that a holder was asked to give way has a digest of its own: the end of a turn makes no holder look.

// revokedDigest returns that of a queue.
func revokedDigest(of table.Queue) (d wake.Digest) {
	name := of.Layout().Table
	sum := sha256.Sum256(fmt.Appendf(nil, "queuelock revoked 1 %q %q %q", name[strings.LastIndexByte(name, '/')+1:], of.Entity, of.Reason))
	copy(d[:], sum[:])
	return d
}

// HintRevoked hints at a request to the holder of a queue to give way.
func (l *Lines) HintRevoked(of table.Queue) {
	if l.hints != nil {
		d := revokedDigest(of)
		l.hinted(d) // of this client
		l.hints.Send(d)
	}
}

// Hinted reports whether there may be hints.
func (l *Lines) Hinted() bool { return l.hints != nil }

// AwaitRevoked signals such hints, until the function is called that it returns. Hinted must be true.
func (l *Lines) AwaitRevoked(of table.Queue, hints chan struct{}) (forget func()) {
	l.listen()
	d, all := revokedDigest(of), l.hints.holders
	l.mu.Lock()
	defer l.mu.Unlock()
	all[d] = append(all[d], hints)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if all[d] = slices.DeleteFunc(all[d], func(c chan struct{}) bool { return c == hints }); len(all[d]) == 0 {
			delete(all, d)
		}
	}
}

// revoked signals the holders that await such a hint. l.mu is held.
func (l *Lines) revoked(d wake.Digest) {
	for _, c := range l.hints.holders[d] {
		signal(c)
	}
}
