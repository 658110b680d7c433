// Package table sends the library's requests to DynamoDB, and names keys and attributes.
//
// # Promises
//
//   - No call outlives its time-out, also where the connection never answers.
//   - Every answer, also a refusal, feeds the estimate of DynamoDB's clock (package
//     dbclock).
//   - A false condition is returned as [*Refused], which has the item that refused the
//     write, or reads it where an older engine does not send it.
//   - An error reports whether the write may have been applied ([Applied]), and whether
//     another attempt can help ([Transient]). If the table is the cause, a
//     [*SchemaError] names what was found and what is needed.
//
// # Does not promise
//
// Retries, beyond those of the caller's SDK client. The package knows nothing of the
// state of records and rows (packages serving and rows).
//
// # Requests
//
// Each method of [Store] sends one request, unless its documentation says otherwise.
package table
