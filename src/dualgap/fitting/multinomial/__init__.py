"""The joint logistic model of more than two classes: minimise Σ a_i (log Σ_k e^{z_ik} − z_{i,y_i}) + g(W)."""
