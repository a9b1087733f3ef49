"""What other libraries call our settings, for the remedy of a message: {ours: theirs}."""

from __future__ import annotations

NAMES = {
    "lr": "learning_rate init_lr learning_rate_init base_lr step_size alpha",
    "batch": "batch_size bs minibatch_size train_batch_size per_device_train_batch_size",
    "hidden": "hidden_size hidden_dim hidden_units units n_hidden d_model rnn_size state_size"
    " num_units hidden_layer_sizes",
    "layers": "num_layers n_layers n_layer num_hidden_layers depth",
    "max_length": "max_len maxlen max_seq_length max_seq_len max_sequence_length sequence_length",
    "epochs": "n_epochs num_epochs num_train_epochs max_epochs nb_epoch n_iter",
    "heads": "num_heads n_heads n_head nhead num_attention_heads",
    "embedding": "embedding_dim emb_dim embed_dim embedding_size emb_size embed_size",
    "size": "vector_size",
    "seed": "random_state random_seed manual_seed",
    "vocab": "vocab_size vocabulary_size max_vocab max_vocab_size max_features num_words",
    "dropout": "dropout_rate dropout_p dropout_prob drop_rate hidden_dropout_prob",
    "patience": "early_stopping early_stopping_patience early_stopping_rounds n_iter_no_change",
    "max_steps": "num_steps total_steps max_train_steps max_iter",
    "warmup": "warmup_steps warmup_ratio warmup_proportion num_warmup_steps",
    "weight_decay": "l2 l2_reg l2_penalty weight_decay_rate reg_lambda",
    "clip": "grad_clip gradient_clipping max_grad_norm clip_norm clipnorm gradient_clip_val",
    "optimizer": "optim optimiser solver",
    "schedule": "scheduler lr_schedule lr_scheduler lr_scheduler_type learning_rate_schedule",
    "valid_share": "validation_split validation_fraction val_split val_size valid_size dev_size",
    "test_share": "test_size test_split",
    "threads": "num_threads n_jobs num_workers workers n_threads",
    "cell": "rnn_type cell_type rnn_cell",
    "min_count": "min_freq min_frequency min_df",
    "feed_forward": "dim_feedforward ff_dim ffn_dim d_ff intermediate_size",
    "lowercase": "do_lower_case lower lower_case",
    "widths": "kernel_size kernel_sizes filter_sizes",
    "filters": "num_filters n_filters",
    "negatives": "negative negative_samples",
    "precision": "fp16 bf16 amp mixed_precision dtype",
    "label_smoothing": "label_smoothing_factor smoothing",
    "eval_steps": "eval_every validation_steps val_check_interval",
    "class_weights": "class_weight",
    "kind": "tokenizer_type token_type analyzer",
    "text": "text_column text_col text_field",
    "label": "label_column label_col label_field target_column",
    # Not settings, but arguments of `train`, and options of its command:
    "out": "output_dir save_dir out_dir output_path",
    "model": "model_type model_name architecture arch",
    "valid": "validation_data valid_data val_data eval_data dev dev_data",
    "test": "test_data",
}
OURS = {theirs: ours for ours, names in NAMES.items() for theirs in names.split()}
ARGUMENTS = ("out", "model", "valid", "test")


def synonym(name: str) -> str | None:
    """Our name for what another library calls `name`; a section before it counts for nothing."""
    return OURS.get(name.rsplit(".", 1)[-1].lower().replace("-", "_"))
