package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// sendSplit sends a transaction in the background that puts items a/x and a/y,
// visible after these delays. The channel gets its status.
func sendSplit(ctx context.Context, e *Engine, delays ...time.Duration) <-chan int {
	put := func(sk string) string {
		return `{"Put":{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"` + sk + `"}}}}`
	}
	body := `{"TransactItems":[` + put("x") + `,` + put("y") + `],"ClientRequestToken":"token"}`
	r := httptest.NewRequestWithContext(WithSplit(ctx, delays), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", target+"TransactWriteItems")
	done := make(chan int, 1)
	go func() {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		done <- w.Code
	}()
	synctest.Wait()
	return done
}

func visible(e *Engine) string {
	all := ""
	for _, it := range e.Items("tab") {
		all += it["sk"].Text
	}
	return all
}

// What DynamoDB does as well is in test/conformance.
func TestSplitEngine(t *testing.T) {
	run := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	wantSorts := func(t *testing.T, e *Engine, want string) {
		t.Helper()
		if got := visible(e); got != want {
			t.Errorf("visible are %q, want %q", got, want)
		}
	}

	run("NothingIsSplitByDefault", func(t *testing.T) {
		e := engine(t, Config{})
		if code := <-sendSplit(t.Context(), e); code != http.StatusOK {
			t.Error(code)
		}
		wantSorts(t, e, "xy")
	})

	run("RequestOverridesTheEngine", func(t *testing.T) {
		e := engine(t, Config{Split: func(items int) []time.Duration { return slices.Repeat([]time.Duration{time.Hour}, items) }})
		start := time.Now()
		if code := <-sendSplit(t.Context(), e); code != http.StatusOK || time.Since(start) != 0 {
			t.Errorf("%d after %v", code, time.Since(start))
		}
	})

	// The last item becomes visible while no request arrives, and the token counts
	// from that moment.
	run("TokenEndsTenMinutesAfterTheLastItem", func(t *testing.T) {
		for _, test := range []struct {
			after time.Duration
			again bool
		}{{11*time.Minute - 1, false}, {11 * time.Minute, true}} {
			commits := 0
			e := engine(t, Config{Now: time.Now, Applied: func(*http.Request, []Change) { commits++ }})
			ctx, leave := context.WithCancel(t.Context())
			done := sendSplit(ctx, e, 0, time.Minute)
			leave()
			<-done
			time.Sleep(test.after)
			if code := <-sendSplit(t.Context(), e); code != http.StatusOK {
				t.Error(code)
			}
			if again := commits == 3; again != test.again {
				t.Errorf("%d commits, %v after the start", commits, test.after)
			}
		}
	})

	run("EachItemIsReportedWhenItBecomesVisible", func(t *testing.T) {
		var reports []string
		start := time.Now()
		e := engine(t, Config{Applied: func(by *http.Request, changes []Change) {
			report := fmt.Sprint(time.Since(start), " ", strings.TrimPrefix(by.Header.Get("X-Amz-Target"), target))
			for _, c := range changes {
				report += fmt.Sprint(" ", c.Table, " ", c.Key["sk"].Text, " ", c.Item != nil)
			}
			reports = append(reports, report)
		}})
		<-sendSplit(t.Context(), e, 2*time.Second, time.Second)
		ok(t, e, "DeleteItem", `{`+at("x")+`}`)
		ok(t, e, "TransactWriteItems", `{"TransactItems":[{"Delete":{`+at("y")+`}},{"ConditionCheck":{`+at("x")+`,"ConditionExpression":"attribute_not_exists(pk)"}},{"Put":{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"z"}}}}]}`)
		want := []string{
			"1s TransactWriteItems tab y true",
			"2s TransactWriteItems tab x true",
			"2s DeleteItem tab x false",
			"2s TransactWriteItems tab y false tab z true",
		}
		if !slices.Equal(reports, want) {
			t.Errorf("got  %q\nwant %q", reports, want)
		}
	})

	run("DeletedTableTakesItsPendingItemsAlong", func(t *testing.T) {
		reports := 0
		e := engine(t, Config{Applied: func(*http.Request, []Change) { reports++ }})
		done := sendSplit(t.Context(), e, time.Second, time.Second)
		ok(t, e, "DeleteTable", `{"TableName":"tab"}`)
		ok(t, e, "CreateTable", tableOf("tab", "S"))
		ok(t, e, "PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"x"},"new":{"BOOL":true}}}`)
		if code := <-done; code != http.StatusOK {
			t.Error(code)
		}
		if items := e.Items("tab"); len(items) != 1 || items[0]["new"].Kind == "" {
			t.Errorf("the new table holds %v", items)
		}
		if reports != 1 { // the new item
			t.Errorf("%d changes were reported", reports)
		}
	})

	run("PendingItemDoesNotExpire", func(t *testing.T) {
		e := engine(t, Config{Now: time.Now, ExpireItems: true})
		ok(t, e, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}}`)
		ok(t, e, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"x"},"ttl":{"N":"%d"}}}`, time.Now().Unix()))
		done := sendSplit(t.Context(), e, time.Minute, 0)
		time.Sleep(30 * time.Second)
		ok(t, e, "Scan", `{"TableName":"tab"}`)
		wantSorts(t, e, "xy")
		<-done
		ok(t, e, "Scan", `{"TableName":"tab"}`)
		wantSorts(t, e, "xy") // the new item has no end
	})
}

func TestSplitting(t *testing.T) {
	const window = 50 * time.Millisecond
	t.Run("EveryOrderIsWithinTheWindow", func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		first := map[int]bool{}
		for range 200 {
			delays := Splitting{Window: window}.Delays(r, 3)
			first[slices.Index(delays, slices.Min(delays))] = true
			if last := slices.Max(delays); last > window {
				t.Errorf("an item takes %v", last)
			}
		}
		if len(first) != 3 {
			t.Errorf("the first items were %v", first)
		}
	})
	t.Run("LateTransactionsTakeSeconds", func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		late, partly := 0, 0
		for range 1000 {
			delays := Splitting{window, 0.1}.Delays(r, 3)
			if last := slices.Max(delays); last > window {
				late++
				if last < time.Second || last > 5*time.Second+window {
					t.Errorf("a late item takes %v", last)
				}
				if slices.Min(delays) <= window {
					partly++
				}
			}
		}
		if late < 50 || late > 150 || partly == 0 || partly == late {
			t.Errorf("%d of 1000 transactions are late, %d of them in part", late, partly)
		}
	})
}
