// Package tablefile keeps the tables of "queuelock local" in a file, a database of bbolt.
//
//	bucket "queuelock"
//	    key "format"              1
//	    bucket "tables"
//	        bucket NAME
//	            key "definition"  JSON of the table
//	            bucket "items"    by key: JSON of the item
//	    bucket "tokens"           by client request token: JSON of the transaction
//
// Writers that wait at the same time share a commit, with its fsync. DB.Batch of bbolt
// does not serve: it delays a writer that is alone, and keeps no order among writers.
package tablefile

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/queuelock/queuelock/internal/embedded"
)

// lockLimit is how long Open waits for another process to leave the file.
const lockLimit = time.Second

// format is the version of what the buckets hold.
const format = "1"

// The names of buckets and keys.
var (
	rootName       = []byte("queuelock")
	formatName     = []byte("format")
	tablesName     = []byte("tables")
	tokensName     = []byte("tokens")
	itemsName      = []byte("items")
	definitionName = []byte("definition")
)

// File is an open file. It is an embedded.Journal.
type File struct {
	db     *bbolt.DB
	path   string
	failed chan error

	mu       sync.Mutex // guards what follows
	pending  []embedded.Entry
	appended uint64 // position of the last entry
	kept     uint64
	err      error // of a commit; what came after the last good one is not kept

	committing sync.Mutex // held by the one caller of Keep that commits for all
}

var _ embedded.Journal = (*File)(nil)

// Open opens the file at the path, and creates it if there is none. A file that is not one of
// ours is left as it is. Without sync, the system writes it when it likes: what was kept
// survives the end of the process, but not that of the host.
func Open(path string, sync bool) (*File, error) {
	found, err := inspect(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, failed: make(chan error, 1)}
	err = guard(path, func() error {
		if f.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockLimit, NoSync: !sync, FreelistType: bbolt.FreelistMapType}); err != nil {
			return err
		}
		return f.db.Update(create)
	})
	if err == nil && sync && !found {
		err = syncFolder(path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// inspect reports whether there is a file, and refuses one that is not ours. It only reads:
// opened for writing, bbolt may change the database of another application.
func inspect(path string) (found bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return false, fmt.Errorf("%s cannot be created: its folder is needed first", path)
		}
		return false, nil
	case err != nil:
		return false, err
	case info.IsDir():
		return false, fmt.Errorf("%s is a folder: the name of a file is needed", path)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is no regular file: one is needed, or a name that is free", path)
	case info.Size() == 0: // as mktemp makes it
		return false, nil
	}
	return true, guard(path, func() error {
		db, err := bbolt.Open(path, 0, &bbolt.Options{Timeout: lockLimit, ReadOnly: true})
		if err != nil {
			return err
		}
		defer db.Close()
		return db.View(func(tx *bbolt.Tx) error {
			if tx.Size() > info.Size() {
				return fmt.Errorf("it has %d bytes, and should have %d or more", info.Size(), tx.Size())
			}
			return ours(tx)
		})
	})
}

// errForeign is of a database of another application.
var errForeign = errors.New("it is of another application")

// ours refuses the database of another application, or of a later version of this one. It takes one without
// buckets, which a start has left that was interrupted.
func ours(tx *bbolt.Tx) error {
	root := tx.Bucket(rootName)
	if root == nil {
		if name, _ := tx.Cursor().First(); name != nil {
			return errForeign
		}
		return nil
	}
	if got := string(root.Get(formatName)); got != format {
		return fmt.Errorf("it has format %q, and %q is needed: was it made by another version?", got, format)
	}
	return nil
}

// create makes the buckets of a new file.
func create(tx *bbolt.Tx) error {
	if tx.Bucket(rootName) != nil {
		return nil
	}
	root, err := tx.CreateBucket(rootName)
	if err != nil {
		return err
	}
	for _, name := range [][]byte{tablesName, tokensName} {
		if _, err := root.CreateBucket(name); err != nil {
			return err
		}
	}
	return root.Put(formatName, []byte(format))
}

// syncFolder makes the name of a new file last. Windows cannot, and needs it less.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// guard turns what goes wrong with the file into an error that names it. bbolt panics at damaged pages, and a page
// beyond the end of a torn file is a fault of memory.
func guard(path string, use func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = damaged(path, fmt.Errorf("%v", r))
		}
	}()
	err = use()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bbolterrors.ErrTimeout):
		return fmt.Errorf("%s is in use by another process", path)
	case errors.As(err, new(*fs.PathError)):
		return err
	}
	return damaged(path, err)
}

func damaged(path string, err error) error {
	return fmt.Errorf("%s is damaged, or no file of \"queuelock local\" (%w): it was left as it is; another name is needed, or a copy of the file", path, err)
}

// Load gives all entries to restore, tables before their items.
func (f *File) Load(restore func(iter.Seq[embedded.Entry]) error) error {
	return guard(f.path, func() error {
		return f.db.View(func(tx *bbolt.Tx) error { return restore(entries(tx)) })
	})
}

func entries(tx *bbolt.Tx) iter.Seq[embedded.Entry] {
	return func(yield func(embedded.Entry) bool) {
		root := tx.Bucket(rootName)
		tables := root.Bucket(tablesName)
		for name := range all(tables) {
			table := tables.Bucket([]byte(name))
			if !yield(embedded.Entry{Kind: embedded.TableEntry, Table: name, Value: table.Get(definitionName)}) {
				return
			}
			for key, item := range all(table.Bucket(itemsName)) {
				if !yield(embedded.Entry{Kind: embedded.ItemEntry, Table: name, Key: key, Value: item}) {
					return
				}
			}
		}
		for token, use := range all(root.Bucket(tokensName)) {
			if !yield(embedded.Entry{Kind: embedded.TokenEntry, Key: token, Value: use}) {
				return
			}
		}
	}
}

// all is what is in a bucket.
func all(b *bbolt.Bucket) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		c := b.Cursor()
		for key, v := c.First(); key != nil && yield(string(key), v); key, v = c.Next() {
		}
	}
}

// Append takes entries for the next commit.
func (f *File) Append(entries []embedded.Entry) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = append(f.pending, entries...)
	f.appended += uint64(len(entries))
	return f.appended
}

// Keep commits all that is pending, unless another caller has done so for this one.
func (f *File) Keep(position uint64) error {
	if done, err := f.done(position); done {
		return err
	}
	f.committing.Lock()
	defer f.committing.Unlock()
	if done, err := f.done(position); done {
		return err
	}
	f.mu.Lock()
	batch, upTo := f.pending, f.appended
	f.pending = nil
	f.mu.Unlock()
	err := guard(f.path, func() error {
		return f.db.Update(func(tx *bbolt.Tx) error { return write(tx, batch) })
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.err = fmt.Errorf("%s could not be written: %w", f.path, err)
		f.failed <- f.err
		return f.err
	}
	f.kept = upTo
	return nil
}

// done reports whether the position is kept, or never will be.
func (f *File) done(position uint64) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept >= position {
		return true, nil
	}
	return f.err != nil, f.err
}

func write(tx *bbolt.Tx, batch []embedded.Entry) error {
	root := tx.Bucket(rootName)
	tables := root.Bucket(tablesName)
	for _, entry := range batch {
		var err error
		switch entry.Kind {
		case embedded.TableEntry:
			err = define(tables, entry)
		case embedded.ItemEntry:
			err = put(tables.Bucket([]byte(entry.Table)).Bucket(itemsName), entry)
		case embedded.TokenEntry:
			err = put(root.Bucket(tokensName), entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// define writes the definition of a table, or deletes the table with its items.
func define(tables *bbolt.Bucket, entry embedded.Entry) error {
	if entry.Value == nil {
		return tables.DeleteBucket([]byte(entry.Table))
	}
	table, err := tables.CreateBucketIfNotExists([]byte(entry.Table))
	if err != nil {
		return err
	}
	if _, err := table.CreateBucketIfNotExists(itemsName); err != nil {
		return err
	}
	return table.Put(definitionName, entry.Value)
}

func put(b *bbolt.Bucket, entry embedded.Entry) error {
	if entry.Value == nil {
		return b.Delete([]byte(entry.Key))
	}
	return b.Put([]byte(entry.Key), entry.Value)
}

// Failed returns a channel with the error of the commit that failed. Nothing is kept after it.
func (f *File) Failed() <-chan error { return f.failed }

// Close closes the file once a commit under way is over. Another process may open it then.
func (f *File) Close() error {
	if f.db == nil {
		return nil
	}
	return f.db.Close()
}
