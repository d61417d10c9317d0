"""Networks on graphs: fourteen layers trained on a random graph, pooling, batches and sampled neighbours, kinds of nodes and edges,
autoencoders, explanations, transforms and what its functions compute."""

import torch
from torch_geometric import nn, seed_everything
from torch_geometric import transforms as T
from torch_geometric import utils
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.loader import DataLoader

PACKAGES = ("torch-geometric",)
LAYERS = {"GCN": nn.GCNConv, "GAT": nn.GATConv, "GATv2": nn.GATv2Conv, "SAGE": nn.SAGEConv, "graph": nn.GraphConv,
          "transformer": nn.TransformerConv,
          "Chebyshev": lambda a, b: nn.ChebConv(a, b, 2), "GIN": lambda a, b: nn.GINConv(torch.nn.Linear(a, b)), "TAG": nn.TAGConv,
          "ARMA": nn.ARMAConv,
          "SG": nn.SGConv, "cluster": nn.ClusterGCNConv, "LE": nn.LEConv, "general": nn.GeneralConv}


def graph() -> Data:
    seed_everything(0)
    edges = utils.to_undirected(torch.randint(0, 20, (2, 40)))
    return Data(x=torch.randn(20, 6), edge_index=edges, y=torch.randint(0, 3, (20,)), train_mask=torch.arange(20) < 14)


class Net(torch.nn.Module):
    def __init__(self, layer: object) -> None:
        super().__init__()
        self.first, self.second = layer(6, 8), layer(8, 3)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        hidden = torch.nn.functional.dropout(self.first(x, edge_index).relu(), 0.2, self.training)
        return self.second(hidden, edge_index)


def trained(layer: str) -> list:
    data, losses = graph(), []
    net = Net(LAYERS[layer])
    optimizer = torch.optim.Adam(net.parameters(), 0.01, weight_decay=5e-4)
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    return [losses, net(data.x, data.edge_index).argmax(1).tolist(), [p.grad for p in net.parameters()]]


def graphs() -> list:
    seed_everything(0)
    return [Data(x=torch.randn(n, 4), edge_index=torch.randint(0, n, (2, 2 * n)), edge_attr=torch.randn(2 * n, 2),
                 y=torch.tensor([n % 2])) for n in (3, 5, 6, 4)]


class Classifier(torch.nn.Module):
    def __init__(self, pool: str) -> None:
        super().__init__()
        self.first = nn.GINEConv(nn.MLP([4, 8, 8]), edge_dim=2)
        pools = {"top": nn.TopKPooling, "attention": nn.SAGPooling, "ASAP": nn.ASAPooling, "edge": nn.EdgePooling}
        reads = {"set2set": lambda: nn.Set2Set(8, 2), "attentive": lambda: nn.AttentionalAggregation(torch.nn.Linear(8, 1)),
                 "softmax": lambda: nn.SoftmaxAggregation(learn=True), "sort": lambda: nn.SortAggregation(2),
                 "several": lambda: nn.MultiAggregation(["mean", "max", "std"]), "LSTM": lambda: nn.LSTMAggregation(8, 8)}
        self.pool = pools[pool](8) if pool in pools else None
        self.read = reads.get(pool, nn.MeanAggregation)()
        self.last = torch.nn.LazyLinear(2)

    def forward(self, batch: Batch) -> torch.Tensor:
        x, edges, owner = self.first(batch.x, batch.edge_index, batch.edge_attr).relu(), batch.edge_index, batch.batch
        if isinstance(self.pool, nn.EdgePooling):
            x, edges, owner, _ = self.pool(x, edges, owner)
        elif isinstance(self.pool, nn.ASAPooling):
            x, edges, _, owner, _ = self.pool(x, edges, batch=owner)
        elif self.pool is not None:
            x, edges, _, owner, _, _ = self.pool(x, edges, None, owner)
        return self.last(self.read(x, owner, dim_size=int(batch.num_graphs)))


def pooled(pool: str) -> list:
    loader, losses = DataLoader(graphs(), batch_size=2), []
    net = Classifier(pool)
    net(next(iter(loader)))
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(2):
        for batch in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(batch), batch.y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def batches() -> dict:
    loader = DataLoader(graphs(), batch_size=3, shuffle=True)
    batch = Batch.from_data_list(graphs())
    return {"shown": [str(each) for each in loader], "ptr": batch.ptr, "owners": batch.batch,
            "back": [str(each) for each in batch.to_data_list()],
            "one": batch[1].edge_index, "some": str(batch[torch.tensor([True, False, True, False])]), "mean": nn.global_mean_pool(batch.x,
                                                                                                                                  batch.batch),
            "max": nn.global_max_pool(batch.x, batch.batch), "dense": list(utils.to_dense_batch(batch.x, batch.batch)),
            "norms": [norm(batch.x, batch.batch) for norm in (nn.GraphNorm(4), nn.InstanceNorm(4), nn.PairNorm(), nn.LayerNorm(4),
                                                              nn.GraphSizeNorm())]}


def kinds() -> dict:
    seed_everything(0)
    data = HeteroData()
    data["paper"].x, data["author"].x = torch.randn(6, 4), torch.randn(4, 3)
    data["author", "writes", "paper"].edge_index = torch.stack([torch.randint(0, 4, (9,)), torch.randint(0, 6, (9,))])
    data["paper", "cites", "paper"].edge_index = torch.randint(0, 6, (2, 8))
    data = T.ToUndirected()(data)
    net = nn.to_hetero(nn.GraphSAGE((-1, -1), 8, 2, out_channels=3), data.metadata(), aggr="sum")
    several = nn.HeteroConv({("author", "writes", "paper"): nn.SAGEConv((3, 4), 5),
                             ("paper", "cites", "paper"): nn.GATConv(4, 5, add_self_loops=False)}, aggr="mean")
    attention, losses = nn.HGTConv({"paper": 4, "author": 3}, 8, data.metadata(), heads=2), []
    with torch.no_grad():
        net(data.x_dict, data.edge_index_dict)
    optimizer = torch.optim.Adam([*net.parameters(), *attention.parameters()], 0.01)
    for _ in range(3):
        optimizer.zero_grad()
        loss = net(data.x_dict, data.edge_index_dict)["paper"].square().mean() + attention(data.x_dict,
                                                                                           data.edge_index_dict)["author"].square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "shown": str(data), "metadata": str(data.metadata()), "several": several(data.x_dict,
                                                                                                       data.edge_index_dict)["paper"],
            "relations": nn.RGCNConv(6, 3, 2)(graph().x, graph().edge_index, torch.arange(graph().num_edges) % 2)}


def models() -> dict:
    data, found = graph(), {}
    for name, net in {"GCN": nn.GCN(6, 8, 2, 3, jk="cat"), "PNA": nn.PNA(6, 8, 2, 3, aggregators=["mean", "max", "std"],
                                                                         scalers=["identity", "amplification"],
                      deg=utils.degree(data.edge_index[0], 20).long().bincount()), "label": nn.LabelPropagation(2, 0.9),
                      "correct": nn.MLP([6, 8, 3], norm="layer_norm"),
                      "attentive": nn.AttentiveFP(6, 8, 3, 2, 2, 2), "DeepGCN": nn.DeepGCNLayer(nn.GENConv(6, 6), torch.nn.LayerNorm(6),
                                                                                                torch.nn.ReLU(), block="res+")}.items():
        net.eval()
        found[name] = (net(data.y, data.edge_index, mask=data.train_mask) if name == "label" else net(data.x) if name == "correct" else net(
            data.x, data.edge_index, torch.ones(data.num_edges, 2), torch.zeros(20,
                                                                                dtype=torch.long)) if name == "attentive" else net(data.x,
                                                                                                                                   data.edge_index))
    coder = nn.VGAE(nn.GCNConv(6, 6))
    coder.encoder.forward = (lambda forward: lambda *given: forward(*given).chunk(2, 1))(coder.encoder.forward)
    z = coder.encode(data.x, data.edge_index)
    loss = coder.recon_loss(z, data.edge_index, utils.negative_sampling(data.edge_index, 20)) + coder.kl_loss() / 20
    loss.backward()
    return {**found, "autoencoder": loss, "gradient": coder.encoder.lin.weight.grad, "summary": nn.summary(nn.GCN(6, 8, 2, 3), data.x,
                                                                                                           data.edge_index),
            "sequence": nn.Sequential("x, e", [(nn.GCNConv(6, 4), "x, e -> x"), torch.nn.ReLU(), torch.nn.Linear(4, 2)])(data.x,
                                                                                                                         data.edge_index)}


def explained() -> dict:
    data = graph()
    net = Net(LAYERS["GCN"]).eval()
    explainer = Explainer(net, GNNExplainer(epochs=5), explanation_type="model", node_mask_type="attributes", edge_mask_type="object",
                          model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"})
    told = explainer(data.x, data.edge_index, index=3)
    return {"nodes": told.node_mask, "edges": told.edge_mask}


def functions() -> dict:
    data = graph()
    edges, weights = data.edge_index, torch.rand(data.num_edges)
    values = torch.tensor([0.5, 2.0, 1.0, -1.0, 3.0], requires_grad=True)
    owner = torch.tensor([0, 0, 2, 2, 2])
    utils.softmax(values, owner).square().sum().backward()
    return {"scatter": {how: utils.scatter(data.x, data.y, reduce=how) for how in ("sum", "mean", "max", "min", "mul")},
            "softmax": utils.softmax(values, owner),
            "gradient": values.grad, "degree": utils.degree(edges[0], 20), "laplacian": list(utils.get_laplacian(edges, weights, "sym")),
            "dense": utils.to_dense_adj(edges),
            "loops": list(utils.add_remaining_self_loops(edges, weights)),
            "coalesced": list(utils.coalesce(torch.tensor([[0, 0, 1], [1, 1, 2]]), torch.ones(3))),
            "hops": list(utils.k_hop_subgraph(0, 1, edges, relabel_nodes=True)),
            "subgraph": list(utils.subgraph(torch.arange(8), edges, weights, relabel_nodes=True)),
            "negative": utils.negative_sampling(edges, 20, 10), "structured": list(utils.structured_negative_sampling(edges)),
            "dropped": list(utils.dropout_edge(edges)),
            "sparse": str(utils.to_torch_coo_tensor(edges, weights)), "rows": str(utils.to_torch_csr_tensor(edges, weights).layout),
            "product": nn.GCNConv(6, 3)(data.x, utils.to_torch_csr_tensor(edges)), "homophily": utils.homophily(edges, data.y),
            "isolated": data.has_isolated_nodes(),
            "segment": utils.segment(data.x, torch.tensor([0, 3, 9, 20]), reduce="mean"), "grouped": utils.group_argsort(data.x[:, 0],
                                                                                                                         data.y),
            "sorted": list(utils.sort_edge_index(edges, weights)),
            "SciPy": utils.to_scipy_sparse_matrix(edges, weights).sum().item(), "networkx": utils.to_networkx(data).number_of_edges(),
            "indices": utils.mask_to_index(data.train_mask),
            "Erdos": utils.erdos_renyi_graph(6, 0.4), "blocks": utils.stochastic_blockmodel_graph([3, 3],
                                                                                                  torch.tensor([[0.8, 0.1], [0.1, 0.8]])),
            "Barabasi": utils.barabasi_albert_graph(8, 2)}


def transformed() -> dict:
    ways = [T.NormalizeFeatures(), T.AddSelfLoops(), T.LocalDegreeProfile(), T.RandomNodeSplit(num_val=3, num_test=3), T.GDC(),
            T.Constant(), T.OneHotDegree(25), T.GCNNorm(),
            T.AddRandomWalkPE(3), T.RandomLinkSplit(num_val=0.2, num_test=0.2), T.LargestConnectedComponents(), T.SVDFeatureReduction(2),
            T.ToSparseTensor(layout=torch.sparse_csr),
            T.LineGraph(), T.VirtualNode(), T.RootedEgoNets(1), T.FeaturePropagation(torch.zeros(20, 6, dtype=torch.bool)), T.HalfHop()]
    found = {}
    for way in ways:
        seed_everything(1)
        told = way(graph())
        found[type(way).__name__] = [
            {key: value for key, value in part.to_dict().items() if isinstance(value, torch.Tensor) and value.layout == torch.strided}
            for part in (told if isinstance(told, tuple) else (told,))]
    seed_everything(0)
    points = T.Compose([T.Center(), T.NormalizeScale(), T.RandomRotate(30), T.RandomJitter(0.1), T.RandomScale((0.9, 1.1)),
                        T.RandomFlip(0)])(
        Data(pos=torch.randn(8, 3)))
    found["points"] = points.pos
    faces = Data(pos=torch.randn(6, 3), face=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]))
    found["faces"] = [T.FaceToEdge(remove_faces=False)(faces).edge_index, T.GenerateMeshNormals()(faces).norm, T.SamplePoints(5)(faces).pos]
    found["places"] = [way(Data(pos=torch.randn(4, 2),
                                edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))).edge_attr for way in (T.Cartesian(), T.Distance(),
                                                                                                        T.Polar(), T.LocalCartesian())]
    return found


CASES = {**{layer: lambda layer=layer: trained(layer) for layer in LAYERS},
         **{f"{pool} pooling": lambda pool=pool: pooled(pool) for pool in ("top", "attention", "ASAP", "edge", "set2set", "attentive",
                                                                           "softmax", "sort", "several", "LSTM")},
         "batches": batches, "kinds of nodes": kinds, "models": models, "explanation": explained, "functions": functions,
         "transforms": transformed}
