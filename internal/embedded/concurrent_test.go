package embedded

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// TestAtomicRequests checks that every request is atomic.
func TestAtomicRequests(t *testing.T) {
	e := engine(t, Config{})
	var all sync.WaitGroup
	const workers, rounds = 8, 50
	won := make([]int, workers)
	for w := range workers {
		all.Go(func() {
			for round := range rounds {
				count := send(e, "UpdateItem", `{`+keyAB+`,"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}`)
				claim := send(e, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"claim"},"sk":{"S":"%d"}},"ConditionExpression":"attribute_not_exists(pk)"}`, round))
				if count.Code != http.StatusOK {
					t.Error(count.Body)
				}
				if claim.Code == http.StatusOK {
					won[w]++
				}
			}
		})
	}
	all.Wait()
	same(t, "the count", stored(t, e).(object)["n"], fmt.Sprintf(`{"N":"%d"}`, workers*rounds))
	total := 0
	for _, n := range won {
		total += n
	}
	if total != rounds {
		t.Errorf("%d claims of %d items succeeded", total, rounds)
	}
}
