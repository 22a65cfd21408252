"""Policy networks as players, their input features, and the weights that are shipped.

`tienlen_agents.networks.network` describes the network. Its forward pass exists twice, because training needs
gradients and players need neither torch nor its overhead for one decision:

- `tienlen_agents.networks.inference`: compiled loops over arrays. All agents play by them. The browser runs
  the same functions, compiled to WebAssembly.
- `tienlen_train.network`: a torch module. `tienlen_train` trains it, and it plays on a GPU, where the
  loops decide if two actions are nearly equal.

`Network` (in `tienlen_agents.networks.network`) holds the weights of both. `NetworkAgent` (in
`tienlen_agents.networks.agent`) plays one, in any variant that it was made for
(`tienlen_agents.networks.general`). `tienlen_agents.search.champion` refines it by a search.
"""
