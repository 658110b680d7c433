// Package locktest holds what the black-box tests under test/ share: clients
// that are closed with their test, calls that must succeed, calls in the
// background, the items of a table, and what a call costs.
//
// Most tests lock [Order] in a table of queuelocktest, inside a bubble of
// testing/synctest.
package locktest
