// Package proxy is the network between a benchmark's clients and its engines.
//
// [HTTP] forwards DynamoDB's requests and counts them, and the capacity units that they
// consume, for each table. [TCP] forwards any connection and counts nothing. Both add the
// same round trip, half of it in each direction.
//
// Neither changes the order of what one connection carries.
package proxy
