package instance

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
)

// contextName is how a cluster, its user and its context are called in kubeconfigs.
func contextName(name string) string { return "operon-" + name }

// Merge adds a running cluster to the user's own kubeconfig and makes it the current
// context there. Down removes it, and makes the earlier context current again. It returns the file's path.
func Merge(name string) (string, error) {
	facts, err := Status(name)
	if err != nil {
		return "", err
	}
	ours, err := clientcmd.LoadFromFile(facts.Kubeconfig)
	if err != nil {
		return "", err
	}
	access := clientcmd.NewDefaultPathOptions()
	theirs, err := access.GetStartingConfig()
	if err != nil {
		return "", fmt.Errorf("the kubeconfig %s was not changed: %w", access.GetDefaultFilename(), err)
	}
	entry := contextName(name)
	if theirs.CurrentContext != entry {
		facts.MergedOver = theirs.CurrentContext
	}
	// An entry that knows its file of origin would be written there.
	ours.Clusters[entry].LocationOfOrigin, ours.AuthInfos[entry].LocationOfOrigin, ours.Contexts[entry].LocationOfOrigin = "", "", ""
	theirs.Clusters[entry], theirs.AuthInfos[entry] = ours.Clusters[entry], ours.AuthInfos[entry]
	theirs.Contexts[entry], theirs.CurrentContext = ours.Contexts[entry], entry
	if err := clientcmd.ModifyConfig(access, *theirs, false); err != nil {
		return "", err
	}
	facts.MergedInto = access.GetDefaultFilename()
	f, err := openFolder(name)
	if err != nil {
		return "", err
	}
	return facts.MergedInto, f.writeFacts(facts)
}

// unmerge removes a cluster from the kubeconfig that it was merged into. If its context is still the current one, the earlier one
// becomes current again, unless the user has removed that in the meantime.
func unmerge(facts Facts, name string) error {
	config, err := clientcmd.LoadFromFile(facts.MergedInto)
	if err != nil {
		return fmt.Errorf("remove cluster %q from the kubeconfig: %w", name, err)
	}
	entry := contextName(name)
	delete(config.Clusters, entry)
	delete(config.AuthInfos, entry)
	delete(config.Contexts, entry)
	if config.CurrentContext == entry {
		config.CurrentContext = ""
		if config.Contexts[facts.MergedOver] != nil {
			config.CurrentContext = facts.MergedOver
		}
	}
	return clientcmd.WriteToFile(*config, facts.MergedInto)
}
