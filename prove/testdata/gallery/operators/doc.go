// Package operators is the gallery: small operators as people write them with controller-runtime,
// each with one mistake that was made before, and others, as similar as possible, without one.
//
//	for _, o := range operators.All() {
//		m, err := ctrl.NewManager(config, o.Options("some-namespace"))
//		…
//		err = o.Setup(m)
//		…
//		err = m.Start(ctx)
//	}
//
// Each is in a file of its own, which begins with what is wrong and how it shows. What they have in
// common is in apps.go, stores.go, backups.go and grants.go, and is right. They know nothing of
// being tested, and each but those about rights works as long as nothing goes wrong and nobody changes
// or deletes anything, unless its entry says otherwise.
package operators
