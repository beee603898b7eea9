// Package resolve decides which bundles the Subscriptions of a namespace get: a first version, an upgrade, or none, and which bundles come
// with them as dependencies. It is a pure function of the Subscriptions, the installed bundles and the catalogs, as long as the solver
// finishes within its time limit.
//
//	result, err := resolve.Resolve(resolve.Problem{Namespace: "tills", Subscriptions: subscriptions, Installed: installed, Catalogs: catalogs})
//
// The files follow the decision: the upgrade graph of a channel (graph.go), the bundles that a Subscription may have (options.go), the bundles
// that meet dependencies (providers.go), both as clauses of a SAT solver (encode.go, solver.go), the choice in the order of preferences
// (choose.go), and the reasons in words (explain.go). Package property reads what bundles provide and need.
//
// Failures are local. A Subscription without a solution stays as it is, and the others are resolved. The result does not depend on the order
// of the lists in the input.
package resolve
