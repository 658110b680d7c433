package queuelock

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/itemkey"
	"github.com/queuelock/queuelock/internal/table"
)

// DefaultReason is the reason of a [Key] that names none.
const DefaultReason = "lock"

// ItemReason is the reason of the queues of items.
const ItemReason = "item"

// Key names a lock: a reason to lock an entity. Locks of different reasons on one entity are independent.
type Key struct {
	// Entity is what is locked, 1 to 2048 bytes of UTF-8. It is the partition key of all its queues.
	Entity string `json:"entity"`
	// Reason is what for, at most 985 bytes of UTF-8 without "/". Empty means DefaultReason.
	Reason string `json:"reason"`
}

// String prints the key for people: "order-7" (lock), or the item of a LockItem.
func (k Key) String() string {
	k = k.normal()
	if k.Reason == ItemReason {
		if item := itemkey.TextOf(k.Entity); item != "" {
			return "item " + item
		}
	}
	return fmt.Sprintf("%q (%s)", k.Entity, k.Reason)
}

func (k Key) normal() Key {
	k.Reason = cmp.Or(k.Reason, DefaultReason)
	return k
}

func keyOf(q table.Queue) Key { return Key{Entity: q.Entity, Reason: q.Reason} }

// ItemKey names an item of the caller's own.
type ItemKey struct {
	// Table is the item's table, by name or ARN, in the region of the client's own: 3 to 255 of a-z, A-Z, 0-9,
	// "_", "-" and ".", or up to 1024 bytes of ARN. Every process must name it in the same way.
	Table string
	// Key is the item's primary key: one attribute or two, each of type S, N or B.
	Key map[string]types.AttributeValue
}

// String prints the key for people: "orders" {id S:"7"}.
func (k ItemKey) String() string { return itemkey.Text(k.Table, k.Key) }
