// Package ship contains the code that delivers an operator to its users: images without a daemon, SBOMs, builds, charts,
// bundles, catalogs, deployments in clusters, and the installation of the lifecycle manager.
//
// Its packages import the tools, lower layers and each other, but no packages for fault injection.
package ship
