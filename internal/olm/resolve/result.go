package resolve

import "k8s.io/apimachinery/pkg/types"

// Result is the decision for a namespace.
type Result struct {
	// Subscriptions has an outcome for each Subscription, sorted by name.
	Subscriptions []Outcome
	// Additions are bundles that no Subscription asked for, in the order in which they were found to be needed.
	Additions []Addition
	// Unmet are sentences about dependencies of installed bundles that are not met and that no bundle can meet.
	Unmet []string
}

// Action is what happens to a Subscription.
type Action string

const (
	// Install means that the bundle is the first one of the Subscription.
	Install Action = "Install"
	// Upgrade means that the bundle replaces the installed one.
	Upgrade Action = "Upgrade"
	// Keep means that the installed bundle stays and nothing is wrong.
	Keep Action = "Keep"
	// Blocked means that a problem keeps the Subscription from a bundle that it asks for.
	Blocked Action = "Blocked"
)

// Reason is why a Subscription gets a bundle, or why it does not.
type Reason string

const (
	// ChannelHead is the first installation of the newest bundle of a channel.
	ChannelHead Reason = "ChannelHead"
	// BelowChannelHead is the first installation of an older bundle, because the newer ones cannot be installed.
	BelowChannelHead Reason = "BelowChannelHead"
	// StartingCSV is the first installation of the bundle that the Subscription names.
	StartingCSV Reason = "StartingCSV"
	// BySkipRange is an upgrade to a bundle whose skipRange includes the installed version.
	BySkipRange Reason = "BySkipRange"
	// BySkips is an upgrade to a bundle that lists the installed one in skips.
	BySkips Reason = "BySkips"
	// ByReplaces is an upgrade to the bundle that replaces the installed one.
	ByReplaces Reason = "ByReplaces"
	// AtHead means that the newest bundle of the channel is installed.
	AtHead Reason = "AtHead"
	// NoSuccessor means that no bundle of the channel replaces the installed one, although it is not the newest.
	NoSuccessor Reason = "NoSuccessor"
	// InProgress means that another bundle of the Subscription is being installed.
	InProgress Reason = "InProgress"

	// Unsatisfiable means that dependencies or conflicts forbid every bundle that the Subscription may have.
	Unsatisfiable Reason = "Unsatisfiable"
	// RolledBack means that every bundle that the Subscription may have is one to avoid, or cannot be used.
	RolledBack Reason = "RolledBack"
	// UnusableBundles means that every bundle that the Subscription may have is deprecated or has invalid properties.
	UnusableBundles Reason = "UnusableBundles"
	// CatalogNotFound means that the namespace has no catalog of that name.
	CatalogNotFound Reason = "CatalogNotFound"
	// CatalogUnavailable means that the catalog or the package in it cannot be read.
	CatalogUnavailable Reason = "CatalogUnavailable"
	// PackageNotFound means that the catalog does not have the package.
	PackageNotFound Reason = "PackageNotFound"
	// ChannelNotFound means that the package does not have the channel.
	ChannelNotFound Reason = "ChannelNotFound"
	// BundleNotFound means that the channel does not have the bundle in startingCSV.
	BundleNotFound Reason = "BundleNotFound"
	// InvalidChannel means that the upgrade graph of the channel is broken.
	InvalidChannel Reason = "InvalidChannel"
	// DuplicateSubscription means that another Subscription follows the same package.
	DuplicateSubscription Reason = "DuplicateSubscription"
	// InstalledByOther means that a bundle of the package is installed, belongs to no Subscription, and is not part of the channel.
	InstalledByOther Reason = "InstalledByOther"
)

// Choice is a bundle of a catalog.
type Choice struct {
	Catalog types.NamespacedName
	Package string
	Channel string
	Name    string
	// Version is empty if the bundle has none.
	Version string
}

// Outcome is the decision for a Subscription.
type Outcome struct {
	Subscription string
	Action       Action
	Reason       Reason
	// Bundle is what to install or to upgrade to. It is the zero Choice for Keep and Blocked.
	Bundle Choice
	// Installed is the bundle that is installed now, or empty.
	Installed string
	// Adopted means that Installed belonged to no Subscription and now belongs to this one.
	Adopted bool
	// Message is the reason in a sentence.
	Message string
	// Held is a sentence about why a better bundle was not chosen, or empty.
	Held string
	// Warnings are the deprecations of the package, the channel and the bundle that is installed, or else the one to install.
	Warnings []Warning
}

// Warning is a deprecation.
type Warning struct {
	// Schema is what is deprecated: SchemaPackage, SchemaChannel or SchemaBundle.
	Schema string
	// Message is that of the catalog, and Sentence also names what is deprecated.
	Message, Sentence string
}

// Schemas of deprecations.
const (
	SchemaPackage = "olm.package"
	SchemaChannel = "olm.channel"
	SchemaBundle  = "olm.bundle"
)

func (w Warning) String() string { return w.Sentence }

// Addition is a bundle that others need, with the Subscription that has to be created for it.
type Addition struct {
	Subscription Subscription
	Bundle       Choice
	// NeededBy are the bundles that need it, sorted.
	NeededBy []string
	// Message is the reason in a sentence.
	Message  string
	Warnings []Warning
}
